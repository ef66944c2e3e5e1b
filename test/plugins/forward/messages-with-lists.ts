import fc from 'fast-check'
import { isShown } from './hiding.js'

const KEYS = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
  skills: 'uri',
} as const

/** The message without hidden items, by JSON.parse: correct but slow, and it misses repeated members. */
export function reference(message: unknown): unknown {
  if (Array.isArray(message)) return message.map((each) => (Array.isArray(each) ? each : reference(each)))
  if (!isObject(message) || !isObject(message['result'])) return message
  const result = Object.entries(message['result']).map(([member, value]) => {
    const key = Object.entries(KEYS).find(([name]) => name === member)?.[1]
    if (key === undefined || !Array.isArray(value)) return [member, value]
    return [member, value.filter((item) => isObject(item) && isUsable(item[key]))]
  })
  return { ...message, result: Object.fromEntries(result) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isUsable = (name: unknown): boolean => typeof name === 'string' && isShown({ name })

export const word = fc.oneof(
  fc.stringMatching(/^[a-dxé"\\\n😀]{0,4}$/u),
  fc.constantFrom('result', 'tools', 'name', 'uri'),
)

/** JSON text of a value, with spaces and escapes of its own. */
export function written(value: unknown, random: () => number): string {
  const gap = (): string => ['', '', ' ', '\n', '\t \r'][Math.floor(random() * 5)] ?? ''
  const text = (string: string): string =>
    `"${Array.from(string, (letter) => (random() < 0.2 ? escaped(letter) : JSON.stringify(letter).slice(1, -1))).join('')}"`
  const inner = (items: readonly string[]): string => `${gap()}${items.join(`${gap()},${gap()}`)}${gap()}`
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return `[${inner(value.map((item) => written(item, random)))}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([key, item]) => `${text(key)}${gap()}:${gap()}${written(item, random)}`,
  )
  return `{${inner(members)}}`
}

const escaped = (letter: string): string =>
  [...Array(letter.length).keys()]
    .map((index) => `\\u${letter.charCodeAt(index).toString(16).padStart(4, '0')}`)
    .join('')

export const anything = fc.jsonValue({ maxDepth: 3 })
const item = fc.oneof(
  fc.record(
    { name: fc.oneof(word, anything), uri: word, uriTemplate: word, title: anything },
    { requiredKeys: [] },
  ),
  anything,
)
const result = fc.record(
  {
    tools: fc.oneof(fc.array(item), anything),
    prompts: fc.array(item),
    resources: fc.array(item),
    resourceTemplates: fc.array(item),
    skills: fc.array(item),
    content: fc.array(fc.record({ text: word, tools: fc.array(item) })),
    structuredContent: anything,
    nextCursor: word,
  },
  { requiredKeys: [] },
)
/** JSON-RPC messages, and values that look like one. */
export const message = fc.oneof(
  fc.record(
    { jsonrpc: fc.constant('2.0'), id: word, result: fc.oneof(result, anything), params: result },
    { requiredKeys: [] },
  ),
  fc.record({ tools: fc.array(item), error: result }),
)

/** Numbers from 0 to 1 that follow from the seed. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 8) / 2 ** 24
  }
}
