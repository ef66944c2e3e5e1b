import {
  childEnvironment,
  definePlugin,
  duration,
  type Gateway,
  isInsecure,
  LONGEST_WAIT,
  type Secret,
  Source,
  secretFrom,
} from 'sallyport'
import { z } from 'zod'
import { GitRepository } from './git-repository.js'
import { interval } from './interval.js'

// A host, a user or a whole place that starts with a dash would be an option of git or ssh, and `ext::` a command.
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
  every: interval().default(300_000).describe('how often it is looked at'),
  timeout: duration(LONGEST_WAIT).default(60_000).describe('the longest that one look may take'),
  maxBytes: z
    .int()
    .positive()
    .default(256 * 1024 * 1024)
    .describe('the most bytes that are read from `path`'),
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
  summary: "Reads a file, or a folder of files, from a git repository, with the system's git.",
  provides: [Source],
  options,

  setup(gateway, given) {
    const { name, ref, path, every } = given
    const url = /^\.{0,2}\//.test(given.url) ? gateway.path(given.url) : given.url
    const token = tokenOf(gateway, given.tokenFile)
    gateway.onStop(() => token?.close())
    const header = (): string | undefined =>
      token === undefined ? undefined : basic(given.username, token.reveal())
    const environment = (): NodeJS.ProcessEnv => childEnvironment(gateway.scrubber)
    const place = { url, ref, path: path.replace(/\/+$/, ''), environment, header }
    const repo = new GitRepository({ ...place, timeout: given.timeout, maxBytes: given.maxBytes })
    gateway.provide(Source, {
      name,
      place: `git ${url} ${ref} ${path}`,
      every,
      fetch: (context) => repo.read(context),
    })
  },
})

function tokenOf(gateway: Gateway, file: string | undefined): Secret | undefined {
  const { log, scrubber } = gateway
  return secretFrom({ file: file === undefined ? undefined : gateway.path(file) }, { log, scrubber })
}

const basic = (username: string, token: string): string =>
  `Authorization: Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`
