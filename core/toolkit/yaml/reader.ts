import { signalGroup, spawnProcessGroup } from '../process-group.js'
import { type Frame, frameOf, framesIn } from './frames.js'

const MEBIBYTE = 1024 ** 2
/** The most bytes of all texts of one call. A large catalogue should be JSON, which is not parsed into objects. */
const MOST_BYTES = 8 * MEBIBYTE
const LONGEST_MS = 120_000
// Parsing takes about a hundred times the size of a text.
const HEAP_MB = 1_024

const JSON_TEXT = 0

/** The JSON of the texts before the first that cannot be parsed, and the fault of that one. */
export interface YamlRead {
  readonly json: readonly Buffer[]
  readonly fault?: string
  /** The result of each text: its JSON, or its fault; of all texts, unless the parser was stopped. */
  readonly each: readonly YamlResult[]
  /** Why the texts after those in `each` have no result. */
  readonly stopped?: string
}

export type YamlResult = { readonly json: Buffer } | { readonly fault: string }

/**
 * Converts YAML texts to JSON, in a process of its own that is killed when it takes too long. Not in a thread: with a
 * hostile text the parser can take more memory or stack than V8 allows, which ends the process with all its threads.
 */
export async function readYaml(texts: readonly Uint8Array[], signal: AbortSignal): Promise<YamlRead> {
  signal.throwIfAborted()
  let bytes = 0
  const firstTooMany = texts.findIndex(({ length }) => {
    bytes += length
    return bytes > MOST_BYTES
  })
  if (firstTooMany === 0) return { json: [], fault: TOO_LARGE, each: [], stopped: TOO_LARGE }
  const read = await inChild(firstTooMany === -1 ? texts : texts.slice(0, firstTooMany), signal)
  return firstTooMany === -1 ? read : { fault: TOO_LARGE, stopped: TOO_LARGE, ...read }
}

const TOO_LARGE = `a source can have at most ${MOST_BYTES / MEBIBYTE} MiB of YAML: use JSON for more`

async function inChild(texts: readonly Uint8Array[], signal: AbortSignal): Promise<YamlRead> {
  const child = spawnProcessGroup(argv(), { env: environment() })
  const late = AbortSignal.timeout(LONGEST_MS)
  const end = (): void => signalGroup(child, 'SIGKILL')
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', end)
    child.once('close', () => resolve())
  })
  for (const each of [signal, late]) each.addEventListener('abort', end, { once: true })
  try {
    child.stderr.resume()
    for (const text of texts) child.stdin.write(frameOf(JSON_TEXT, text))
    child.stdin.end()
    const [frames] = await Promise.all([framesIn(child.stdout), ended])
    signal.throwIfAborted()
    const each = frames.map(resultOf)
    if (each.length === texts.length) return { ...firstOf(each), each }
    const stopped = late.aborted ? TOO_LONG : 'it needs more memory than the parser may use'
    return { fault: stopped, stopped, ...firstOf(each), each }
  } finally {
    for (const each of [signal, late]) each.removeEventListener('abort', end)
  }
}

const resultOf = ({ kind, bytes }: Frame): YamlResult =>
  kind === JSON_TEXT ? { json: bytes } : { fault: bytes.toString('utf8') }

function firstOf(each: readonly YamlResult[]): Pick<YamlRead, 'json' | 'fault'> {
  const json: Buffer[] = []
  for (const result of each) {
    if ('fault' in result) return { json, fault: result.fault }
    json.push(result.json)
  }
  return { json }
}

const TOO_LONG = `it takes longer than ${LONGEST_MS / 1000} s to parse`

function argv(): string[] {
  // By name: in the published package this code is bundled into another folder.
  const href = import.meta.resolve('#core/toolkit/yaml/child.js')
  const child = JSON.stringify(href)
  const tsx = href.endsWith('.js') ? undefined : JSON.stringify(import.meta.resolve('tsx/esm/api'))
  const begin = tsx === undefined ? '' : `(await import(${tsx})).register();`
  return [
    process.execPath,
    `--max-old-space-size=${HEAP_MB}`,
    '--no-warnings',
    ...['--input-type=module', '--eval', `${begin}await import(${child})`],
  ]
}

/** Without the gateway's own variables: `NODE_OPTIONS` and secrets. */
function environment(): NodeJS.ProcessEnv {
  const needed = ['PATH', 'HOME', 'TMPDIR', 'SYSTEMROOT']
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => needed.includes(name.toUpperCase())),
  )
}
