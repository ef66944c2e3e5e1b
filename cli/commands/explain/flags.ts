import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const explainCommand = {
  name: 'explain',
  summary: 'Explain why a token is accepted or refused, and what its caller may do',
  description:
    'Checks a token against the providers of a configuration file, as the gateway would, and prints what each provider checked. With a tool, a prompt, a resource or a method it also asks the policies, and prints which rule decides. The token comes from standard input or a file, since other users of this machine can see a command line; if no provider requires a token, explain reads none and judges the anonymous caller. Policies see a request from this machine. The exit code is 1 when a provider refuses the token, or a policy denies the call.',
  positionals: [],
  groups: general(
    { ...configFile, required: true },
    {
      name: 'token-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File that holds the token, instead of standard input',
    },
    { name: 'tool', type: 'string', placeholder: 'NAME', help: 'May its caller use this tool?' },
    { name: 'prompt', type: 'string', placeholder: 'NAME', help: 'May its caller get this prompt?' },
    { name: 'resource', type: 'string', placeholder: 'URI', help: 'May its caller read this resource?' },
    {
      name: 'method',
      type: 'string',
      placeholder: 'METHOD',
      help: 'The method of the call; by default the one that calls the tool, gets the prompt or reads the resource',
    },
  ),
  examples: [
    'sallyport explain --config registry.yaml < token',
    'sallyport explain --config gateway.yaml --token-file ./token',
    'sallyport explain --config proxy.yaml --token-file ./token --tool delete_page',
  ],
} as const satisfies CommandDefinition
