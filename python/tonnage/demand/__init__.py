"""What a job asks of a storage, in the terms of a load line: from counters of its calls, of one run or several."""
