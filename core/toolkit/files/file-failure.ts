const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
}

/** Why a file cannot be used, in words and in the system's own. */
export function fileFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (!('code' in error) || typeof error.code !== 'string') return error.message
  const said = WORDS[error.code]
  return said === undefined ? error.code : `${said} (${error.code})`
}
