import { definePlugin, type Gateway, Source } from 'sallyport'
import {
  childEnvironment,
  duration,
  isInsecure,
  LONGEST_WAIT,
  type SecretContext,
  secretFrom,
} from 'sallyport/toolkit'
import { z } from 'zod'
import { DocumentReader } from './file-json.js'
import { GitRepository } from './git-repository.js'
import { interval } from './interval.js'

// A host, user or path that starts with a dash would be an option of git or ssh, and `ext::` a command.
const FORMS = [
  /^(?:https?|ssh):\/\/(?:\w[^\s/@]*@)?[\w[][^\s@]*$/,
  /^file:\/\/\/\S+$/,
  /^\w[\w.-]*@\w[\w.-]*:(?!\/\/)[^\s-]\S*$/,
  /^\.{0,2}\/\S+$/,
]

const repository = z
  .string()
  .refine(
    (text) => FORMS.some((form) => form.test(text)),
    'expected an https, ssh or file URL, user@host:path, or a path that starts with ./, ../ or /',
  )
  .refine(
    (text) => !URL.canParse(text) || new URL(text).password === '',
    'expected no password: use tokenFile',
  )
  .refine(
    (text) => !text.startsWith('http://') || !URL.canParse(text) || !isInsecure(new URL(text)),
    'expected https; plain http is for loopback',
  )

const options = z.strictObject({
  name: z.string().min(1).describe('the name that registries list it by'),
  url: repository.describe('the repository'),
  ref: z
    .string()
    .regex(/^(?!-)(?!.*\.\.)[\w./+-]+$/, 'expected a branch, a tag or a commit')
    .default('HEAD')
    .describe('a branch, a tag or a commit'),
  path: z
    .string()
    .regex(/^(?!\/)(?!(?:.*\/)?\.\.(?:\/|$)).+$/, 'expected a path inside the repository')
    .default('.')
    .describe('a file, or a folder whose JSON and YAML files are read'),
  every: interval().prefault('5m').describe('how often it is checked for a new commit'),
  timeout: duration(LONGEST_WAIT).prefault('1m').describe('the longest that one sync may take'),
  maxBytes: z
    .int()
    .positive()
    .default(256 * 1024 * 1024)
    .describe('the most bytes that are fetched of the repository, and that the files at `path` may have'),
  tokenFile: z.string().optional().describe('a file with a token for https'),
  username: z
    .string()
    .regex(/^[^:\s]+$/)
    .default('x-access-token')
    .describe('the user name that goes with the token'),
})

export default definePlugin({
  name: 'source/git',
  api: 1,
  summary:
    "Reads a file, or a folder of files, from a git repository, with the system's git. Of the environment, git gets the variables for its user, keys, certificates and proxies only.",
  provides: [Source],
  options,

  setup(gateway, given) {
    const { log, scrubber } = gateway
    const environment = (): NodeJS.ProcessEnv => childEnvironment(scrubber)
    const repository = open(gateway, given, new DocumentReader(MALFORMED), { log, scrubber }, environment)
    gateway.onStop(() => repository.close())
    const { name, every } = given
    gateway.provide(Source, { name, every, location: repository.location, fetch: repository.fetch })
  },

  async examine(examination, given) {
    const { examineDocuments } = await import('./examine-documents.js')
    await examineDocuments(examination, MALFORMED, (reader) =>
      open(examination, given, reader, {}, () => process.env),
    )
  },
})

const MALFORMED = 'GIT_FILE_MALFORMED'

function open(
  folder: Pick<Gateway, 'path'>,
  { username, tokenFile, ref, timeout, maxBytes, ...given }: z.output<typeof options>,
  documents: DocumentReader,
  secrets: SecretContext,
  environment: () => NodeJS.ProcessEnv,
): Pick<Source, 'location' | 'fetch'> & { close(): void } {
  const url = /^\.{0,2}\//.test(given.url) ? folder.path(given.url) : given.url
  const token = secretFrom({ file: folder.path(tokenFile) }, secrets)
  const header = (): string | undefined => (token === undefined ? undefined : basic(username, token.reveal()))
  const path = given.path.replace(/\/+$/, '')
  const repository = new GitRepository({ url, ref, path, environment, header, timeout, maxBytes }, documents)
  return {
    location: `git ${url} ${ref} ${given.path}`,
    fetch: (context) => repository.read(context),
    close: () => token?.close(),
  }
}

const basic = (username: string, token: string): string =>
  `Authorization: Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
