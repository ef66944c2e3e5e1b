import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const explainCommand = {
  name: 'explain',
  summary: 'Explain why a token is accepted or refused, and what its caller may do',
  description:
    'Checks a token against the providers of a configuration file, as the gateway would, and prints what each of them checked. With a tool, a prompt, a resource or a method it goes on to the policies, and prints which rule decides. The token comes from standard input or a file, since other users of this machine can see a command line; where nobody is asked for one, none is read, and the anonymous caller is judged. Policies see a request from this machine. The exit code is 1 when the token is refused, or the call denied.',
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
      help: 'The method of the call; by default the one that uses, gets or reads what is named',
    },
  ),
  examples: [
    'sallyport explain --config registry.yaml < token',
    'sallyport explain --config gateway.yaml --token-file ./token',
    'sallyport explain --config proxy.yaml --token-file ./token --tool delete_page',
  ],
} as const satisfies CommandDefinition
