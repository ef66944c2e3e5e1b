import { ConfigError } from 'sallyport'

export type Driver = typeof import('pg').default

/** The package `pg` is optional: it is loaded where a list stores in PostgreSQL. */
export async function loadDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    const message = 'the package pg is not installed, which connects to PostgreSQL: `npm install pg@8`'
    throw new ConfigError([{ place: 'pg', message }], { cause })
  }
}
