import { definePlugin, GatewayError, SecretStore, within } from 'sallyport'
import { z } from 'zod'

type Keyring = typeof import('@napi-rs/keyring')

// A locked one asks for its password in a window, and there may be nobody to see it.
const PATIENCE = 20_000

export default definePlugin({
  name: 'secrets/keyring',
  api: 1,
  summary: "Keeps secrets in the operating system's keyring.",
  provides: [SecretStore],
  options: z.strictObject({
    service: z.string().min(1).default('sallyport').describe('the name under which the keyring lists them'),
  }),

  setup(gateway, { service }) {
    // Without this, a Linux machine without a desktop falls back to the kernel's keyring, which a reboot empties.
    const only = { linux: { store: 'secret-service' as const } }
    const entry = ({ AsyncEntry }: Keyring, name: string) => new AsyncEntry(service, name, only)
    gateway.provide(SecretStore, {
      name: 'keyring',
      get: (name) => asked(async (keyring) => (await entry(keyring, name).getPassword()) ?? undefined),
      keeping: {
        set: (name, value) => asked((keyring) => entry(keyring, name).setPassword(value)),
        delete: (name) => asked((keyring) => entry(keyring, name).deleteCredential()),
        names: () =>
          asked(async ({ findCredentialsAsync }) =>
            (await findCredentialsAsync(service)).map(({ account }) => account).sort(),
          ),
      },
    })
  },
})

/** Runs `work` with the keyring. The module is loaded by the first who needs it; it is an optional dependency. */
async function asked<T>(work: (keyring: Keyring) => Promise<T>): Promise<T> {
  let keyring: Keyring
  try {
    keyring = await import('@napi-rs/keyring')
  } catch (cause) {
    throw new GatewayError(
      'KEYRING_MISSING',
      'there is no keyring: the package @napi-rs/keyring is not installed',
      {
        cause,
      },
    )
  }
  try {
    return await within(PATIENCE, work(keyring), () => new Error('nobody answered'))
  } catch (cause) {
    // Its messages speak of buses and sockets, which is the cause and not what to do.
    throw new GatewayError('KEYRING_UNAVAILABLE', 'there is no keyring on this machine, or it is locked', {
      cause,
    })
  }
}
