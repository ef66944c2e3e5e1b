/** Why a file could not be read, in words. */
export function readFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const said: Readonly<Record<string, string>> = {
    ENOENT: 'no such file',
    ENOTDIR: 'no such file',
    EISDIR: 'is a directory, a file is expected',
    EACCES: 'may not be read by this user',
    ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
  }
  return said[code] ?? `cannot be read (${code === '' ? 'unknown reason' : code})`
}
