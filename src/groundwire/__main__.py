"""`python -m groundwire`: the command line where only the interpreter is at hand."""

from groundwire.cli.main import main

if __name__ == "__main__":
    main()
