const COMMA = Buffer.from(',')

/** The elements of a JSON list, with commas between them. */
export const withCommas = (elements: readonly { readonly json: Uint8Array }[]): Uint8Array[] =>
  elements.flatMap(({ json }, index) => (index === 0 ? [json] : [COMMA, json]))

/** A buffer over the same memory. */
export const bufferOver = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
