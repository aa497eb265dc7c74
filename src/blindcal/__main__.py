"""`python -m blindcal` is the command line."""

from blindcal.cli import main

if __name__ == "__main__":
    main()
