//! Finds the number of workers: the smallest whose rate is within 5 % of the best.
