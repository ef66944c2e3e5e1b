import {
  acceptedContent,
  completable,
  inputRequired,
  type McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { elicit } from './asking-tools.js'
import { PNG, words } from './samples.js'

export function resources(server: McpServer): void {
  const text = { description: 'A text', mimeType: 'text/plain' }
  server.registerResource('static-text', 'test://static-text', text, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }))
  server.registerResource('watched', 'test://watched-resource', text, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'It may change.' }],
  }))
  const picture = { description: 'A picture', mimeType: 'image/png' }
  server.registerResource('static-binary', 'test://static-binary', picture, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PNG }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  const data = { description: 'Data by its id', mimeType: 'application/json' }
  server.registerResource('template', template, data, ({ href: uri }, { id }) => ({
    contents: [
      {
        uri,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      },
    ],
  }))
}

export function prompts(server: McpServer): void {
  const message = <C>(content: C) => ({ role: 'user' as const, content })
  server.registerPrompt('test_simple_prompt', { description: 'A prompt' }, () => ({
    messages: [message(words('This is a simple prompt for testing.'))],
  }))
  const argument = () =>
    completable(z.string(), (begun) => ['paris', 'park', 'party'].filter((word) => word.startsWith(begun)))
  const two = z.object({ arg1: argument(), arg2: argument() })
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Takes two', argsSchema: two },
    ({ arg1, arg2 }) => ({
      messages: [message(words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  )
  const uri = z.object({ resourceUri: z.string() })
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'Holds a resource', argsSchema: uri },
    (given) => ({
      messages: [
        message({
          type: 'resource' as const,
          resource: {
            uri: given.resourceUri,
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        }),
        message(words('Please process the embedded resource above.')),
      ],
    }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'Holds a picture' }, () => ({
    messages: [
      message({ type: 'image' as const, data: PNG, mimeType: 'image/png' }),
      message(words('Please analyze the image above.')),
    ],
  }))
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks first' }, ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_context', z.object({ context: z.string() }))
    if (given !== undefined) return { messages: [message(words(`Mind ${given.context}`))] }
    return inputRequired({
      inputRequests: { user_context: elicit('What context should the prompt use?', 'context') },
    })
  })
}
