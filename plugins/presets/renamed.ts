/** Former names of plugins, each with the name of today. */
export const renamed: ReadonlyMap<string, string> = new Map([
  ['pages/people', 'pages/browse'],
  ['tunnel/keeper', 'tunnel/connection'],
])
