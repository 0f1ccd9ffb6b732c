import { createHash } from 'node:crypto'

/**
 * Numbers of schemas, as a Confluent-compatible registry assigns them. Each message names its schema by this number.
 * `schema` is JSON text.
 */
export type SchemaIds = {
  /**
   * Return the number of a schema under a subject; register the schema if it is new. Throws if the registry is
   * unavailable or refuses the schema.
   */
  readonly register: (subject: string, schema: string) => Promise<number>
  /** Return the schema of a number; null if the number is unknown. */
  readonly schemaOf: (id: number) => Promise<string | null>
}

/** Create schema numbers without a registry: the first 32 bits of the schema's SHA-256, equal in every process. */
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
