import type { ApiVersion } from '../api-version.ts'
import { schemaWithoutNullTexts } from '../json/null-text.ts'
import { type JsonSchema, schemaInApiVersion, schemaOf } from '../openapi/schema-document.ts'
import { schemaName } from '../openapi/schema-name.ts'
import { eventTypes } from './event-type.ts'

/** Puts a schema where the document keeps it, and gives what stands in its place. */
export type NameSchema = (schema: JsonSchema, nameSchema: string) => JsonSchema

/** Events that endpoints get, as the requests that bring them. */
export function* describeWebhooks(
  apiVersion: ApiVersion,
  nameSchema: NameSchema,
): Generator<void, Readonly<Record<string, unknown>>> {
  const webhooks: Record<string, unknown> = {}
  for (const { type, description: occurs, data } of eventTypes) {
    const schema = schemaOf(data.shape)
    const dataSchema = schemaInApiVersion(
      apiVersion === 'current' ? schema : schemaWithoutNullTexts(schema),
      data.renames ?? [],
      apiVersion,
    )
    const event: JsonSchema = {
      type: 'object',
      properties: {
        id: { type: 'string', examples: ['evt_0198c0ffee00112233445566'] },
        object: { const: 'event' },
        type: { const: type },
        live_mode: { type: 'boolean' },
        data: { ...dataSchema, component: data.name },
        time_created: { type: 'string', format: 'date-time' },
        account_id: { type: 'string', examples: ['acc_0198c0ffee00112233445566'] },
      },
      required: ['id', 'object', 'type', 'live_mode', 'data', 'time_created', 'account_id'],
    }
    const eventName = schemaName(type)
    const post = {
      operationId: `event_${type.replaceAll('.', '_')}`,
      summary: occurs,
      tags: ['Webhooks'],
      security: [],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: nameSchema(event, `${eventName}Event`) } },
      },
      responses: { '2XX': { description: 'The event has arrived. Any other status is tried again.' } },
    }
    webhooks[type] = { post }
    yield
  }
  return webhooks
}
