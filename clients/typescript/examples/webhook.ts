import { verifyWebhook, type WebhookEvent } from '@wattledger/client'

const { WEBHOOK_SECRET: secret } = process.env
if (!secret) throw new Error('Set WEBHOOK_SECRET.')

export const readEvent = async (request: Request): Promise<WebhookEvent> =>
  verifyWebhook({ secret, headers: request.headers, body: await request.text() })
