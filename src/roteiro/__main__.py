"""`python -m roteiro` is the `roteiro` command."""

from roteiro.cli.main import main

if __name__ == "__main__":
    main()
