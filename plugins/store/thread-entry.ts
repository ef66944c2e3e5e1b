/** The code that starts a thread: a file as entry point would not work with every flag of the process. */
export function threadEntry(href: string): string {
  const thread = JSON.stringify(href)
  if (href.endsWith('.js')) return `import(${thread})`
  // A thread does not inherit the loader for TypeScript.
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'))
  return `import(${tsx}).then(({ register }) => { register(); return import(${thread}) })`
}
