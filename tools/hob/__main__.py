from hob.cli import main

main()
