import type { ProxyKind } from '../task.js'
import { apache } from './apache.js'
import { haproxy } from './haproxy.js'
import { nginx } from './nginx.js'
import { floor, sallyport } from './own.js'

/** All proxies that the bench can put in front of the target. */
export const proxies: readonly ProxyKind[] = [floor, haproxy, nginx, apache, sallyport]
