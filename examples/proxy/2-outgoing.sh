#!/bin/sh
# The proxy shows the target a credential that callers never see. The file is read again when it changes.
exec sallyport proxy notes --target-uri "${TARGET:-https://mcp.example.com/mcp}" \
  --remote-auth-bearer-token-file "${TOKEN_FILE:-./token}" "$@"
