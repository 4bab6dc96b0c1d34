import { AcquireTimeoutError } from 'leasehold';

import { charge } from '@/lib/charge';
import { lockProvider } from '@/lib/locks';

export const runtime = 'nodejs';

export async function POST(
  request: Request,
  { params }: { params: Promise<{ number: string }> },
): Promise<Response> {
  const { number } = await params;
  try {
    await lockProvider().useMutex(
      `invoice:${number}`,
      ({ signal, fencingToken }) => charge(number, { signal, fencingToken }),
      { timeoutMs: 2_000, signal: request.signal, why: 'charge' },
    );
    return Response.json({ charged: number });
  } catch (error) {
    if (error instanceof AcquireTimeoutError) return Response.json({ busy: number }, { status: 409 });
    throw error;
  }
}
