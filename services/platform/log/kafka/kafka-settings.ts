import { readFileSync } from 'node:fs'

/** Supported SASL mechanisms. */
export const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
export type SaslMechanism = (typeof saslMechanisms)[number]

/**
 * Addresses of the brokers and their credentials. `tls`: true uses the system's certificate authorities; `ca` is PEM
 * text. `sessionTimeoutMs`: time after which the brokers reassign the partitions of a silent reader
 * (`group.consumer.session.timeout.ms`).
 */
export type KafkaAddress = {
  readonly brokers: readonly string[]
  readonly tls: boolean | { readonly ca: string }
  readonly sasl: { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string } | null
  readonly sessionTimeoutMs: number
}

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
