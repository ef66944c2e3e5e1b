#!/bin/sh
# Nobody is asked for a token, and nothing is added: what comes in goes out. On loopback only programs and pages of
# this machine get in.
exec sallyport proxy notes --target-uri "${TARGET:-https://mcp.example.com/mcp}" "$@"
