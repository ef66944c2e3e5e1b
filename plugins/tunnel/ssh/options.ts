import { isIP } from 'node:net'
import { isLoopbackHost } from 'sallyport/toolkit'
import { z } from 'zod'
import { publicOrigin } from '../public-url.js'
import { parseDestination } from './destination.js'

const port = z.int().min(1).max(65_535)

// In a value of `-o`, ssh reads quotes, and expands `%` and `$`.
const file = z
  .string()
  .regex(/^[^"'%$\\\p{Cc}]+$/u, 'expected a path without quotes, percent signs, dollars and backslashes')

const remoteHost = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || /^(?:\*|[a-z\d](?:[a-z\d.-]*[a-z\d])?)$/i.test(text),
    'expected an address, a host name, or *',
  )

export const options = z
  .strictObject({
    destination: z
      .string('expected [user@]host')
      .refine(
        (text) => parseDestination(text) !== undefined,
        'expected [user@]host, with a name, an address, or an alias of the ssh configuration',
      )
      .describe('`[user@]host`; the ssh configuration of this user applies'),
    port: port.optional().describe('port of the ssh server; by default that of the ssh configuration'),
    identityFile: file.optional().describe('the only private key to sign in with'),
    knownHostsFile: file
      .optional()
      .describe('file with the only host keys to trust; by default those of this user and this machine'),
    remoteHost: remoteHost
      .default('127.0.0.1')
      .describe('address on which the server listens; others than loopback need its `GatewayPorts`'),
    remotePort: z
      .int()
      .min(0)
      .max(65_535)
      .default(0)
      .describe('port on which the server listens; 0 lets it choose'),
    publicUrl: z
      .string()
      .optional()
      .describe('the https URL that leads to that port; by default the port itself, on loopback'),
  })
  .superRefine(({ remoteHost: host, remotePort, publicUrl }, context) => {
    const addIssue = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (publicUrl === undefined) {
      if (!isLoopbackHost(host))
        addIssue('publicUrl', 'is needed where the server does not listen on its loopback')
      return
    }
    const checked = publicOrigin(publicUrl)
    if ('fault' in checked) addIssue('publicUrl', checked.fault)
    if (remotePort === 0)
      addIssue('remotePort', 'is needed with a public URL: the web server has to know the port')
  })

export type SshOptions = z.output<typeof options>
