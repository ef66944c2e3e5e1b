import type { Gateway, ListenerTls } from 'sallyport'
import { certificatesIn } from 'sallyport/toolkit'

/** Measures when the first of the certificates that are sent to clients ends, so that somebody can be told before. */
export function measureEnd({ meter, onStart }: Pick<Gateway, 'meter' | 'onStart'>, tls: ListenerTls): void {
  const end = meter.gauge(
    'certificate_not_after_timestamp_seconds',
    'When the first certificate of the chain that the main port shows ends',
  )
  const measure = (): void => {
    const ends = certificatesIn(tls.certificates.cert).map(({ validTo }) => Date.parse(validTo))
    if (ends.length > 0) end(Math.min(...ends) / 1000)
  }
  tls.onChange(measure)
  onStart(measure)
}
