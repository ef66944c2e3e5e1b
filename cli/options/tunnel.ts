import type { Option, OptionGroup } from './option.js'
import { proxyGroups } from './proxy.js'
import { workers } from './workers.js'

const provider = {
  title: 'The tunnel',
  options: [
    {
      name: 'tunnel-provider',
      type: 'string',
      placeholder: 'PROVIDER',
      required: true,
      help: 'Who opens the tunnel: ssh, command, or a plugin of your own, by its package or a path such as ./tunnel.js',
    },
    {
      name: 'tunnel-public-url',
      type: 'url',
      placeholder: 'URL',
      help: 'The https URL by which callers outside know the proxy, where the tunnel cannot tell it',
    },
    {
      name: 'tunnel-timeout',
      type: 'duration',
      placeholder: 'DURATION',
      help: 'How long it may take until the public URL is known; 20s unless given, and 28s at most',
    },
    {
      name: 'tunnel-ssh-destination',
      type: 'string',
      placeholder: '[USER@]HOST',
      help: 'ssh: the server, as the ssh configuration of this user knows it',
    },
    {
      name: 'tunnel-ssh-port',
      type: 'port',
      placeholder: 'PORT',
      help: 'ssh: port of the server; what the ssh configuration says, unless given',
    },
    {
      name: 'tunnel-ssh-identity',
      type: 'string',
      placeholder: 'FILE',
      help: 'ssh: private key to sign in with; those of this user and the agent, unless given',
    },
    {
      name: 'tunnel-ssh-known-hosts',
      type: 'string',
      placeholder: 'FILE',
      help: 'ssh: the host keys to trust; those of this user and this machine, unless given',
    },
    {
      name: 'tunnel-ssh-remote-host',
      type: 'string',
      placeholder: 'HOST',
      help: 'ssh: where the server is to listen; 127.0.0.1 unless given, others need its GatewayPorts',
    },
    {
      name: 'tunnel-ssh-remote-port',
      type: 'port',
      placeholder: 'PORT',
      help: 'ssh: port on which the server is to listen; it chooses one, unless given',
    },
    {
      name: 'tunnel-command',
      type: 'string',
      placeholder: 'COMMAND',
      help: 'command: the program and its arguments, with {url}, {host} and {port} for the proxy; spaces part words, quotes keep them together, and no shell is involved',
    },
    {
      name: 'tunnel-command-pattern',
      type: 'string',
      placeholder: 'REGEX',
      help: 'command: regular expression whose one group is the public URL in what the program prints; the first https URL without a path, unless given',
    },
    {
      name: 'tunnel-option',
      type: 'pair',
      placeholder: 'NAME=VALUE',
      help: 'An option of a provider of your own; no secrets, as other users of this machine can see a flag',
    },
  ],
} as const satisfies OptionGroup

// What it lets in is another thing here.
const allowUnauthenticated: Option = {
  name: 'allow-unauthenticated',
  type: 'boolean',
  help: 'Let anybody on the internet in, instead of --oidc-issuer',
}

const ofProxy = proxyGroups.map(
  ({ title, options }): OptionGroup => ({
    title,
    options: options
      // One tunnel leads to one process.
      .filter(({ name }) => name !== workers.name)
      .map((option) => (option.name === allowUnauthenticated.name ? allowUnauthenticated : option)),
  }),
)

/** The flags of `sallyport proxy tunnel`, in the order of its help. */
export const tunnelGroups: readonly OptionGroup[] = [...ofProxy.slice(0, 1), provider, ...ofProxy.slice(1)]
