/**
 * Any text as bytes, and back. A column of type `text` refuses NUL, and UTF-8 has no half surrogates, so both are escaped
 * as in JSON.
 */
export const bytesOf = (text: string): Buffer => Buffer.from(JSON.stringify(text).slice(1, -1))

export const textOf = (bytes: Uint8Array): string => JSON.parse(`"${Buffer.from(bytes).toString()}"`)
