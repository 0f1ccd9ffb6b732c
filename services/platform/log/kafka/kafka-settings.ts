import { readFileSync } from 'node:fs'
import type { KafkaAddress } from './kafka-client.ts'

/** The brokers as configured. `caFile`: file with PEM certificates; it enables TLS. */
export type KafkaSettings = Pick<KafkaAddress, 'brokers' | 'sasl' | 'sessionTimeoutMs'> & {
  readonly tls: boolean
  readonly caFile: string | null
  readonly prefix: string
}

/** Return the address of the brokers; read the certificate file. Throws a system error if the file cannot be read. */
export const kafkaAddress = ({ brokers, tls, caFile, sasl, sessionTimeoutMs }: KafkaSettings): KafkaAddress => ({
  brokers,
  tls: caFile === null ? tls : { ca: readFileSync(caFile, 'utf8') },
  sasl,
  sessionTimeoutMs,
})
