#!/bin/sh
# The proxy requires no token and adds nothing. On loopback only programs and pages of this machine can use it.
exec sallyport proxy notes --target-uri "${TARGET:-https://mcp.example.com/mcp}" "$@"
