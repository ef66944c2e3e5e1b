const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  ERR_NO_FILE: 'it is a pipe or a device, and no file',
  EACCES: 'the user of this process may not access it',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text',
}

/** Why a file cannot be used: a sentence and the system's error code. */
export function fileFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (!('code' in error) || typeof error.code !== 'string') return error.message
  const sentence = SENTENCES[error.code]
  return sentence === undefined ? error.code : `${sentence} (${error.code})`
}
