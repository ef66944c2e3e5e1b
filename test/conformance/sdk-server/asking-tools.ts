import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequest,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { said, words } from './samples.js'

const NOTHING = z.object({})

type Form = Parameters<typeof inputRequired.elicit>[0]['requestedSchema']

const text = (properties: readonly string[]): Form => ({
  type: 'object',
  properties: Object.fromEntries(properties.map((name) => [name, { type: 'string' as const }])),
  required: [...properties],
})
const CONFIRMATION: Form = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }

export const elicit = (message: string, ...properties: string[]): InputRequest =>
  inputRequired.elicit({ message, requestedSchema: text(properties) })
const sample = (prompt: string): InputRequest =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: words(prompt) }], maxTokens: 100 })

const answerTo = ({ mcpReq }: ServerContext, key: string): unknown => {
  const answer = inputResponse(mcpReq.inputResponses, key)
  return answer.kind === 'missing' ? undefined : answer
}

/** Tools that request one input: in the older revision by a request to the client, in the newer by their result. */
export function askingTools(server: McpServer): void {
  const asking = (
    name: string,
    key: string,
    request: (given: string) => InputRequest,
    argument?: string,
  ): void => {
    const inputSchema = argument === undefined ? NOTHING : z.object({ [argument]: z.string() })
    server.registerTool(name, { description: 'Asks the client', inputSchema }, (given, context) => {
      const answer = answerTo(context, key)
      if (answer !== undefined) return said(`It said ${JSON.stringify(answer)}`)
      return inputRequired({ inputRequests: { [key]: request(String(Object.values(given)[0])) } })
    })
  }
  asking('test_sampling', 'answer', sample, 'prompt')
  asking('test_elicitation', 'answer', (message) => elicit(message, 'username', 'email'), 'message')
  asking('test_elicitation_sep1034_defaults', 'answer', () =>
    inputRequired.elicit({ message: 'Please look at the defaults', requestedSchema: DEFAULTS }),
  )
  asking('test_elicitation_sep1330_enums', 'answer', () =>
    inputRequired.elicit({ message: 'Please choose', requestedSchema: CHOICES }),
  )
  asking('test_missing_capability', 'answer', () => sample('What can you do?'))
  asking('test_input_required_result_sampling', 'capital_question', () =>
    sample('What is the capital of France?'),
  )
  asking('test_input_required_result_list_roots', 'client_roots', () => inputRequired.listRoots())
}

/** Tools that read the input of the client, or its capabilities. */
export function inputCheckingTools(server: McpServer): void {
  server.registerTool(
    'test_input_required_result_elicitation',
    { description: 'Asks for a name', inputSchema: NOTHING },
    (_given, { mcpReq }) => {
      const named = acceptedContent(mcpReq.inputResponses, 'user_name', z.object({ name: z.string() }))
      if (named !== undefined) return said(`Hello, ${named.name}!`)
      return inputRequired({ inputRequests: { user_name: elicit('What is your name?', 'name') } })
    },
  )
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks what can be asked', inputSchema: NOTHING },
    (_given, { mcpReq }) => {
      const declared: unknown = Reflect.get(mcpReq.envelope ?? {}, CLIENT_CAPABILITIES_META_KEY)
      const can = (what: string): boolean =>
        typeof declared === 'object' && declared !== null && what in declared
      return inputRequired({
        inputRequests: {
          ...(can('elicitation') && { name: elicit('What is your name?', 'name') }),
          ...(can('sampling') && { greeting: sample('Generate a greeting') }),
        },
      })
    },
  )
}

/** Tools that send their state, signed, to the client and get it back. */
export function statefulTools(server: McpServer, codec: RequestStateCodec): void {
  const remembering = (name: string, requests: () => Record<string, InputRequest>): void => {
    server.registerTool(
      name,
      { description: 'Asks, and remembers that it did', inputSchema: NOTHING },
      async (_given, { mcpReq }) => {
        if (mcpReq.requestState() === name) return said('state-ok')
        return inputRequired({ inputRequests: requests(), requestState: await codec.mint(name) })
      },
    )
  }
  const confirm = () => ({
    confirm: inputRequired.elicit({ message: 'Please confirm', requestedSchema: CONFIRMATION }),
  })
  remembering('test_input_required_result_request_state', confirm)
  remembering('test_input_required_result_tampered_state', confirm)
  remembering('test_input_required_result_multiple_inputs', () => ({
    user_name: elicit('What is your name?', 'name'),
    greeting: sample('Generate a greeting'),
    client_roots: inputRequired.listRoots(),
  }))
  server.registerTool(
    'test_input_required_result_multi_round',
    { description: 'Asks twice', inputSchema: NOTHING },
    async (_given, { mcpReq }) => {
      const round = Number(mcpReq.requestState() ?? 0) + 1
      if (round > 2) return said('done')
      const [what, property] = round === 1 ? ['name', 'name'] : ['favorite color', 'color']
      return inputRequired({
        inputRequests: { [`step${round}`]: elicit(`Step ${round}: What is your ${what}?`, property) },
        requestState: await codec.mint(round),
      })
    },
  )
}

const DEFAULTS: Form = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
}

const options = ['option1', 'option2', 'option3']
const titled = ['First', 'Second', 'Third'].map((title, index) => ({ const: `value${index + 1}`, title }))

const CHOICES: Form = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  },
}
