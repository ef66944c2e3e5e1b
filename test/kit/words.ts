/** Splits a command line as a shell does, as far as the examples need it: spaces and quotes. */
export const wordsOf = (line: string): string[] =>
  (line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) => word.replaceAll(/["']/g, ''))
