/** A command line as a shell would split it, as far as the examples go: spaces and quotes. */
export const wordsOf = (line: string): string[] =>
  (line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) => word.replaceAll(/["']/g, ''))
