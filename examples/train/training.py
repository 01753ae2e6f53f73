"""The loop that every member is trained by: seeded, in small batches, resumed from its last checkpoint."""

import math
import random
import time

import torch
import tqdm

import store

CHECKPOINT_SECONDS = 60
POSITIONS = 256  # of answers, in a batch; more at a time learns less from the same text
WARM_UP = 50


def order(lessons, seed):
    """All lessons in an order of their own, in batches of about POSITIONS, as lists of indices."""
    shuffled = list(range(len(lessons)))
    random.Random(seed).shuffle(shuffled)
    batches, held = [[]], 0
    for index in shuffled:
        batches[-1].append(index)
        held += len(lessons[index].text.tokens) - lessons[index].text.answer
        if held >= POSITIONS:
            batches.append([])
            held = 0
    return [batch for batch in batches if batch]


def train(name, member, lessons, batch, options, rate):
    """Lowers the member's loss over batches of lessons; returns the seconds that it took, over all runs."""
    device = next(member.parameters()).device
    learned = [p for p in member.parameters() if p.requires_grad]
    rate *= options.rate
    optimizer = torch.optim.AdamW(learned, lr=rate, betas=(0.9, 0.95), weight_decay=0.01, fused=True)
    path = options.work / f"{name}-{options.tokens}-{options.epochs:g}.checkpoint"
    steps_per_epoch = len(order(lessons, 0))
    steps = math.ceil(options.epochs * steps_per_epoch)
    step, seconds = 0, 0.0
    if path.exists():
        state = store.load_state(path, device)
        member.load_state_dict(state["member"], strict=False)
        optimizer.load_state_dict(state["optimizer"])
        step, seconds = state["step"], state["seconds"]

    def save():
        progress = dict(step=step, seconds=seconds + time.monotonic() - began)
        store.save_state(path, member=learned_state(member), optimizer=optimizer.state_dict(), **progress)

    began = saved = time.monotonic()
    batches = None
    smooth = None
    with tqdm.tqdm(total=steps, initial=step, desc=name, unit="step", miniters=1, mininterval=5) as bar:
        while step < steps:
            if batches is None or step % steps_per_epoch == 0:
                batches = order(lessons, options.seed + step // steps_per_epoch)
            chosen = [lessons[i] for i in batches[step % steps_per_epoch % len(batches)]]
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule(step, steps)
            with torch.autocast(torch.device(device).type, torch.bfloat16):
                loss = member.loss(batch(chosen))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            step += 1
            smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
            bar.set_postfix(loss=f"{smooth:.3f}", refresh=False)
            bar.update()
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                save()
                saved = time.monotonic()
    save()
    return seconds + time.monotonic() - began


def learned_state(member):
    """What training changes: a member's frozen part is its target's."""
    frozen = {name for name, parameter in member.named_parameters() if not parameter.requires_grad}
    return {name: tensor for name, tensor in member.state_dict().items() if name not in frozen}


def schedule(step, steps):
    warm = min(1.0, (step + 1) / WARM_UP)
    return warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def soft_loss(shared, hidden, wanted, mask):
    """Cross entropy of the logits of hidden states against probabilities over the same tokens, where the mask says so."""
    rows = shared(hidden[mask]).float().log_softmax(-1)
    return -(wanted[mask] * rows).sum(-1).mean() if len(rows) else hidden.sum() * 0.0
