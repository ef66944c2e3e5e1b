import { resolve } from 'node:path'
import type { Gateway } from '../contract/gateway.js'

/** Paths from the options of plugins, relative to a folder. */
export const pathsFrom =
  (folder: string): Gateway['path'] =>
  (path) =>
    path === undefined ? path : resolve(folder, path)
