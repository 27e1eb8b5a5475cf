"""Records so many traces of ten spans in threads, and one trace of so many spans in asyncio tasks; then just ends."""

import asyncio
import os
import sys
import threading

import waymark

traces, spans = int(sys.argv[1]), int(sys.argv[2])
# A busy machine may take long: the caller ends what hangs.
client = waymark.Waymark(
    os.environ["WAYMARK_TRACE_KEY"],
    os.environ["WAYMARK_TRACE_URL"],
    retry_delay=0.01,
    timeout=3600,
    exit_timeout=3600,
    when_full="wait",
)
numbers = iter(range(traces))
lock = threading.Lock()


def next_number():
    with lock:
        return next(numbers, None)


def write():
    while (number := next_number()) is not None:
        with client.start_trace(agent_id="proof", name=f"trace {number}") as trace:
            with trace.span("span 0", input={"number": number}):
                for index in range(1, 9):
                    with trace.span(f"span {index}") as span:
                        span.set(output="ok")
            trace.span("span 9").end()


@waymark.observe("task")
async def task(number):
    waymark.current_span().set(attributes={"gen_ai.usage.input_tokens": number})
    await asyncio.sleep(0.001 * (number % 7))
    return number


async def write_tasks():
    async with client.start_trace(agent_id="proof", name="tasks"):
        for first in range(0, spans, 500):
            await asyncio.gather(*(task(number) for number in range(first, min(spans, first + 500))))


threads = [threading.Thread(target=write) for _ in range(8)]
for thread in threads:
    thread.start()
asyncio.run(write_tasks())
