import { ConfigError } from 'sallyport'

export type Driver = typeof import('ioredis').Redis

/** The package `ioredis` is optional: it is loaded where a list uses Redis. */
export async function loadDriver(): Promise<Driver> {
  try {
    return (await import('ioredis')).Redis
  } catch (cause) {
    const message = 'the package ioredis is not installed, which connects to Redis: `npm install ioredis@6`'
    throw new ConfigError([{ place: 'ioredis', message }], { cause })
  }
}
