import type { Gateway } from 'sallyport'

/** The package oidc-provider writes warnings about its settings to the console; they go to the log instead of stdout. */
export async function withConsoleLogged<T>({ log }: Gateway, work: () => Promise<T>): Promise<T> {
  const { info, warn } = console
  const write = (text: string): void => log.debug(text)
  Object.assign(console, { info: write, warn: write })
  try {
    return await work()
  } finally {
    Object.assign(console, { info, warn })
  }
}
