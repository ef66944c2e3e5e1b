import { UpstreamError } from 'sallyport'

export const notLoaded = (): UpstreamError =>
  new UpstreamError('REGISTRY_NOT_LOADED', 'this registry has not been loaded yet', {
    statusCode: 503,
    retryAfter: 5,
  })
