import { createHash } from 'node:crypto'

/**
 * Numbers for schemas, as a Confluent-compatible registry gives them: a value on the wire names its schema by this number.
 * `schema` is its JSON text.
 */
export type SchemaIds = {
  /** Number of a schema under a subject; makes it known if it is new. Throws where the registry is away or refuses it. */
  readonly register: (subject: string, schema: string) => Promise<number>
  /** The schema of a number; null where nobody knows it. */
  readonly schemaOf: (id: number) => Promise<string | null>
}

/** Schema numbers without a registry: the first 32 bits of the schema's SHA-256, the same in every process. */
export const localSchemaIds = (): SchemaIds => {
  const known = new Map<number, string>()
  return {
    register: async (_subject, schema) => {
      const id = createHash('sha256')
        .update(JSON.stringify(JSON.parse(schema)))
        .digest()
        .readUInt32BE(0)
      known.set(id, schema)
      return id
    },
    schemaOf: async id => known.get(id) ?? null,
  }
}
