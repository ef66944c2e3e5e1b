#!/bin/sh
# Callers need no token, and the proxy adds nothing. On loopback, only programs and pages of this machine can call it.
exec sallyport proxy notes --target-uri "${TARGET:-https://mcp.example.com/mcp}" "$@"
