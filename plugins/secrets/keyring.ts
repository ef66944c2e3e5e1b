import { definePlugin, GatewayError, SecretStore } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { z } from 'zod'

type Keyring = typeof import('@napi-rs/keyring')

// A locked keyring requests its password in a window, which nobody may see.
const TIMEOUT = 20_000

export default definePlugin({
  name: 'secrets/keyring',
  api: 1,
  summary: "Stores secrets in the operating system's keyring.",
  provides: [SecretStore],
  options: z.strictObject({
    service: z.string().min(1).default('sallyport').describe('the name under which the keyring lists them'),
  }),

  setup(gateway, { service }) {
    // Without this, a Linux machine without a desktop falls back to the kernel's keyring, which a reboot empties.
    const options = { linux: { store: 'secret-service' as const } }
    const entry = ({ AsyncEntry }: Keyring, name: string) => new AsyncEntry(service, name, options)
    gateway.provide(SecretStore, {
      name: 'keyring',
      get: (name) => withKeyring(async (keyring) => (await entry(keyring, name).getPassword()) ?? undefined),
      keeping: {
        set: (name, value) => withKeyring((keyring) => entry(keyring, name).setPassword(value)),
        delete: (name) => withKeyring((keyring) => entry(keyring, name).deleteCredential()),
        names: () =>
          withKeyring(async ({ findCredentialsAsync }) =>
            (await findCredentialsAsync(service)).map(({ account }) => account).sort(),
          ),
      },
    })
  },
})

/** Runs `work` with the keyring. Loads the module on demand, as it is an optional dependency. */
async function withKeyring<T>(work: (keyring: Keyring) => Promise<T>): Promise<T> {
  let keyring: Keyring
  try {
    keyring = await import('@napi-rs/keyring')
  } catch (cause) {
    throw new GatewayError(
      'KEYRING_MISSING',
      'there is no keyring: the package @napi-rs/keyring is not installed; `npm install @napi-rs/keyring@2`',
      { cause },
    )
  }
  try {
    return await within(TIMEOUT, work(keyring), () => new Error('no response in time'))
  } catch (cause) {
    // The keyring's own messages, about buses and sockets, become the cause.
    throw new GatewayError('KEYRING_UNAVAILABLE', 'there is no keyring on this machine, or it is locked', {
      cause,
    })
  }
}
