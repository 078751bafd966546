"""The instructor's door: submissions are read, run apart from the judge, judged and reported."""
