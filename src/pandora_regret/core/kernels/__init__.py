"""The hot loops; reference.py is the specification that every faster one is tested against."""
