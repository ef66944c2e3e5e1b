/** The keys of the official MCP registry in the `_meta` of a server document: its own metadata, and the publisher's. */
export const OFFICIAL = 'io.modelcontextprotocol.registry/official'
export const PUBLISHER = 'io.modelcontextprotocol.registry/publisher-provided'
