import { readFileSync } from 'node:fs'
import type { KafkaAddress } from './kafka-client.ts'

/** The brokers as configuration names them; `caFile` is a file of PEM certificates, and switches TLS on by itself. */
export type KafkaSettings = Pick<KafkaAddress, 'brokers' | 'sasl' | 'sessionTimeoutMs'> & {
  readonly tls: boolean
  readonly caFile: string | null
  readonly prefix: string
}

/** Read what the settings only name. Throws a system error where the file cannot be read. */
export const kafkaAddress = ({ brokers, tls, caFile, sasl, sessionTimeoutMs }: KafkaSettings): KafkaAddress => ({
  brokers,
  tls: caFile === null ? tls : { ca: readFileSync(caFile, 'utf8') },
  sasl,
  sessionTimeoutMs,
})
