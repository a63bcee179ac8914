//! Refuses what cannot work before anything is touched; holds the lock that keeps a second mover out.
